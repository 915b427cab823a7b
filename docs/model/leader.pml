/*
 * One periodic and two processes that may both believe that they lead. The lease is a row; so is the last tick, which is
 * taken by a conditional update in the transaction that enqueues the job. A leader can be frozen between any two of its
 * steps, and wakes up believing what it believed.
 */

#ifndef P
#define P 2
#endif
#define LEASE 2     /* how long it lasts */
#define LAST 4      /* the last tick that is looked at */

byte now;           /* the database's clock */
byte holder;        /* who holds the lease; 0 nobody */
byte until;
byte last_tick;     /* the last tick that was taken */
bool waits;         /* a run of the periodic waits or runs */
byte ran[LAST + 1]; /* what a proof needs: how often each tick was enqueued */
byte renewed[P + 1];

proctype process(byte me) {
  bool leading;
  byte read;
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

  /* It reads the last tick, and takes the latest that has passed; others may do the same between the two. */
  :: leading -> atomic { read = last_tick };
     if
     :: atomic {
          now > read &&
#ifndef NO_TICK_CHECK
          last_tick == read &&
#endif
#ifndef NO_WAIT_CHECK
          !waits &&
#endif
          true ->
          assert(!waits);            /* property: no new run while one waits or runs */
          waits = true;
          last_tick = now;
          ran[now]++;
          assert(ran[now] == 1)      /* property: each tick at most once */
        }
     :: true
     fi
  :: now >= LAST -> break
  od
}

/* The run ends; time passes. */
active proctype world() {
end:
  do
  :: atomic { waits -> waits = false }
  :: atomic { now < LAST -> now++ }
  od
}

init {
  atomic { run process(1); run process(2) }
}
