/*
 * Three events of transactions that commit in any order, or roll back, and two relays. A relay claims what is committed
 * and not yet marked, enqueues one job for each, and marks the rows in the same transaction, holding their locks. It can
 * die at any step; then its transaction rolls back.
 *
 * Sequence numbers are taken before the commit, so a later number may be seen before an earlier one.
 */

#define EVENTS 3
#ifndef P
#define P 2
#endif
#define DEATHS 2

mtype = { OPEN, COMMITTED, GONE };

mtype event[EVENTS] = OPEN;   /* its number is its place */
bool marked[EVENTS];
byte locked[EVENTS];          /* by which relay; 0 none */
byte jobs[EVENTS];            /* jobs enqueued for it, committed */
byte cursor;                  /* only of the wrong relay: up to here all was seen */
byte deaths;

#ifdef CURSOR
#define is_new(e) (e >= cursor)
#else
#define is_new(e) (!marked[e])
#endif

#ifdef NO_LOCK
#define is_free(e) true
#else
#define is_free(e) (locked[e] == 0)
#endif

proctype writer(byte e) {
  if
  :: event[e] = COMMITTED
  :: event[e] = GONE
  fi
}

proctype relay(byte me) {
  byte e;
  bool mine[EVENTS];
  do
  /* What is new is claimed; rows that another relay holds are skipped. */
  :: atomic {
       e = 0;
       do
       :: e < EVENTS ->
          mine[e] = (event[e] == COMMITTED && is_new(e) && is_free(e));
          if
          :: mine[e] && locked[e] == 0 -> locked[e] = me
          :: else
          fi;
          e++
       :: else -> break
       od;
       e = 0
     };
     if
     /* Jobs and marks commit together. */
     :: atomic {
          do
          :: e < EVENTS ->
             if
             :: mine[e] ->
                jobs[e]++;
                assert(jobs[e] <= 1);           /* property: fanned out at most once */
                assert(event[e] == COMMITTED);  /* property: no event of a transaction that rolled back */
                cursor = (e + 1 > cursor -> e + 1 : cursor);
#ifndef MARK_APART
                marked[e] = true;
                locked[e] = (locked[e] == me -> 0 : locked[e]);
                mine[e] = false
#endif
             :: else
             fi;
             e++
          :: else -> break
          od;
          e = 0
        }
#ifdef MARK_APART
        ;
        atomic {
          if
          :: deaths < DEATHS -> deaths++
          :: e < EVENTS && mine[0] -> marked[0] = true
          :: e < EVENTS && mine[1] -> marked[1] = true
          :: e < EVENTS && mine[2] -> marked[2] = true
          :: else
          fi;
          e = 0;
          do
          :: e < EVENTS -> mine[e] = false; locked[e] = (locked[e] == me -> 0 : locked[e]); e++
          :: else -> break
          od;
          e = 0
        }
#endif
     /* It dies: its transaction rolls back, and its locks are free. Another one takes its place. */
     :: atomic {
          deaths < DEATHS ->
          deaths++;
          e = 0;
          do
          :: e < EVENTS -> mine[e] = false; locked[e] = (locked[e] == me -> 0 : locked[e]); e++
          :: else -> break
          od;
          e = 0
        }
     fi
  /* Nothing is left to do, and nobody else is at it. */
  :: atomic {
       event[0] != OPEN && event[1] != OPEN && event[2] != OPEN &&
       locked[0] == 0 && locked[1] == 0 && locked[2] == 0 &&
       !(event[0] == COMMITTED && is_new(0)) && !(event[1] == COMMITTED && is_new(1)) &&
       !(event[2] == COMMITTED && is_new(2)) ->
       /* property: every event that committed is fanned out */
       assert(event[0] != COMMITTED || jobs[0] == 1);
       assert(event[1] != COMMITTED || jobs[1] == 1);
       assert(event[2] != COMMITTED || jobs[2] == 1);
       break
     }
  od
}

init {
  atomic {
    run writer(0); run writer(1); run writer(2);
    run relay(1); run relay(2)
  }
}
