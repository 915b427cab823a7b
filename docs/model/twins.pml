/*
 * One unique key whose job keeps twins out while it waits, processes that claim and run, and enqueuers. Each changes
 * something and enqueues a twin in one transaction, which commits or rolls back. What others have not committed is not
 * seen; a row that they have written is waited for.
 */

#ifndef E
#define E 3         /* enqueuers */
#endif

#define NONE 0
#define UNCOMMITTED 1
#define WAITS 2
#define RUNS 3
#define ENDED 4

byte key;           /* the job that holds the key; 0 is that it is free */
byte writer;        /* whose transaction has written the key's row; 0 nobody's */
byte state[E + 1];  /* of the job that each enqueuer may add */
byte locks[E + 1];  /* how many transactions have locked a job */
byte committed;     /* what a proof needs: the changes of the enqueuers, one bit each */
byte saw[E + 1];    /* what the run of a job could see */
byte seen;          /* what the runs that have ended could see */
byte ended;         /* enqueuers that have ended */

proctype enqueuer(byte me) {
  byte holder;
  byte mine;
  byte locked;
  bool keeps_out;
  do
  :: atomic { holder = key };
#ifndef NO_LOCK
     atomic { if :: holder != 0 && locked == 0 -> locks[holder]++; locked = holder :: else fi };
#endif
     /* It is judged as it is now. */
     atomic { keeps_out = holder != 0 && state[holder] == WAITS };
     if
     :: keeps_out -> break
     :: else ->
        /* It takes the key, if that is as it was read; a row that another has written is waited for. */
        atomic { writer == 0 -> writer = me };
        atomic {
          if
#ifndef NO_CONDITION
          :: key != holder -> writer = 0
          :: key == holder -> mine = me; state[me] = UNCOMMITTED
#else
          :: mine = me; state[me] = UNCOMMITTED
#endif
          fi
        };
        /* What it has locked of another job it keeps, which only holds that one up; here it lets go. */
        if
        :: mine != 0 -> break
        :: else -> atomic { if :: locked != 0 -> locks[locked]--; locked = 0 :: else fi }
        fi
     fi
  od;
  if
  :: atomic {
       committed = committed | (1 << me);
       if
       :: mine != 0 ->
          /* property: at most one job of a key waits */
          assert(key == 0 || state[key] != WAITS);
          state[mine] = WAITS; key = mine; writer = 0
       :: else
       fi;
       if :: locked != 0 -> locks[locked]-- :: else fi;
       ended++
     }
  /* It rolls back. */
  :: atomic {
       if :: mine != 0 -> state[mine] = NONE; writer = 0 :: else fi;
       if :: locked != 0 -> locks[locked]-- :: else fi;
       ended++
     }
  fi
}

/* A claim skips what is locked, and a run sees what was committed before it. */
proctype process(byte job) {
end:
  do
  :: atomic { state[job] == WAITS && locks[job] == 0 -> state[job] = RUNS; saw[job] = committed }
  :: atomic { state[job] == RUNS -> state[job] = ENDED; seen = seen | saw[job] }
  od
}

/* When nothing is left to do. */
active proctype proof() {
  timeout;
  assert(ended == E);
  /* property: each change that was committed was there for a run that came after it */
  assert((seen & committed) == committed)
}

init {
  byte each = 1;
  atomic {
    do :: each <= E -> run process(each); run enqueuer(each); each++ :: else -> break od
  }
}
