/*
 * One periodic and two processes that may both believe that they lead. The lease is a row, and so is the periodic: its next
 * tick is taken by a conditional update in the statement that enqueues the job. A leader can be frozen between any two of
 * its steps, and wakes up believing what it believed.
 */

#ifndef P
#define P 2
#endif
#define LEASE 2     /* how long it lasts */
#define LAST 4      /* the last tick that is looked at */
#ifndef CHANGES
#define CHANGES 1   /* how often the schedule is changed */
#endif

/* Each change of its row makes another version. */
#define CHANGED as_read[1] = false; as_read[2] = false

#define NONE 0      /* no run of the periodic */
#define LIVE 1      /* one that is due or runs */
#define BACKOFF 2   /* one that waits for a later attempt */

byte now;           /* the database's clock */
byte holder;        /* who holds the lease; 0 nobody */
byte until;
byte next_tick = 1; /* the periodic's next tick */
bool as_read[P + 1]; /* its row is of the version that a process has read */
byte waits;         /* its run */
bool by_hand;       /* one was made by hand */
byte changes;       /* what a proof needs: how often the schedule was changed, */
byte changed;       /* and when it was last */
byte ran[LAST + 1]; /* how often each tick was enqueued */
byte renewed[P + 1];

proctype process(byte me) {
  bool leading;
  byte due;
  do
  /* One statement takes or renews the lease. */
  :: atomic {
#ifdef NO_LEASE_CHECK
       holder != me || renewed[me] != now ->
#else
       holder == 0 || holder == me || now >= until ->
#endif
       /* property: nobody takes the lease from one who renews it in time */
       assert(holder == 0 || holder == me || now >= renewed[holder] + LEASE);
       holder = me; until = now + LEASE; renewed[me] = now;
       leading = true
     }
  :: atomic { leading && holder != me -> leading = false }
  /* It resigns. */
  :: atomic { leading && holder == me -> holder = 0; leading = false }

  /* It reads the periodic, and takes the tick that is due; others may do the same, or change it, between the two. */
  :: leading -> atomic { as_read[me] = true; due = next_tick };
     if
     :: atomic {
          now >= due &&
#ifndef NO_VERSION_CHECK
          as_read[me] &&
#endif
#ifndef NO_WAIT_CHECK
          waits != LIVE &&
#endif
          true ->
          assert(waits != LIVE);     /* property: no new run while one is due or runs */
          assert(due > changed);     /* property: no run for a tick that the schedule never had */
          waits = LIVE;              /* one in backoff is superseded */
          next_tick = now + 1;
          CHANGED;
          ran[now]++;
          assert(ran[now] == 1)      /* property: each tick at most once */
        }
     :: true
     fi
  /* It stores another schedule, whose ticks count from now. */
  :: atomic {
       leading && changes < CHANGES ->
       changes++;
       changed = now; next_tick = now + 1;
#ifndef CHANGE_KEEPS_VERSION
       CHANGED
#endif
     }
  :: now >= LAST -> break
  od
}

/* The run ends, fails, or is due again; somebody makes one by hand; time passes. */
active proctype world() {
end:
  do
  :: atomic { waits == LIVE -> waits = NONE }
  :: atomic { waits == LIVE -> waits = BACKOFF }
  :: atomic { waits == BACKOFF -> waits = LIVE }
  :: atomic { waits != LIVE && !by_hand -> by_hand = true; waits = LIVE; CHANGED }
  :: atomic { now < LAST -> now++ }
  od
}

init {
  atomic { run process(1); run process(2) }
}
