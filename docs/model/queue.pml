/*
 * One job, two processes, and the database between them: claim, start mark, heartbeat, rescue, fence, finish.
 *
 * Each statement of the database is one atomic step, as its transaction makes it. A process can die at any step and
 * comes back under a new id; it can be frozen; it can be cut off from the database and go on; its answer can get lost
 * after the statement took effect; a statement can arrive late, after the process has sent it again.
 *
 * Time is counted in heartbeats. A process that is well beats once in each; whoever does not is late. LOST heartbeats
 * without a new value are what takes a process for dead, and what makes it start nothing more.
 *
 * Each guard can be taken out by a -D flag: tools/model.ts says which property breaks then.
 */

#define P 2          /* processes */
#ifndef IDS
#define IDS 5        /* ids: one for each start, and one after each rescue of a process that lives */
#endif
#ifndef LOST
#define LOST 3
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef OUTS
#define OUTS 1       /* freezes and cuts of a process */
#endif
#ifndef OUTAGES
#define OUTAGES 1    /* of the database for all */
#endif
#ifndef LOST_ANSWERS
#define LOST_ANSWERS 1 /* claims that take effect and are not answered */
#endif
#ifndef LATE
#define LATE 1       /* whether a statement can arrive late, after it was sent again */
#endif
#ifndef RELEASES
#define RELEASES 1   /* runs that are given back: a snooze, a stop, a neighbour's crash */
#endif

#define TAKEN_FOR_DEAD (LOST + 1)

mtype = { PENDING, RUNNING, COMPLETED, DISCARDED };
mtype = { NOTHING, CLAIMED, MARKED, STARTED, ENDED };
mtype = { FINE, FAIL, RELEASE };
mtype = { WELL, FROZEN, CUT, DEAD };

/* The database. */
mtype state = PENDING;
byte run_no, attempt, owner, mark_run, mark_owner;
bool recorded[IDS];
bool up = true;
bool late_sent, late_used;
mtype late_outcome;
byte late_run, late_owner, late_attempt;

/* The processes. */
mtype health[P] = WELL;
mtype holds[P] = NOTHING;
mtype outcome[P];
byte id[P], my_run[P], my_attempt[P], my_owner[P];
byte silent[P];            /* heartbeats since it renewed last, up to LOST */
bool beaten[P], late[P];
bool changed[P * IDS];     /* whether a heartbeat has changed since this process looked */
byte unchanged[P * IDS];   /* for how many heartbeats it has not; and at last what follows from that */
byte next_id = 1;
byte deaths, outs, outages, releases, lost_answers;

/* What is not in the product: what a proof needs to know. */
bool was_out[P];           /* frozen or cut off since it claimed */
bool outage_only[IDS];     /* nothing ever happened to this process but an outage of the database for all */
byte began_run;            /* the latest run whose handler began */
byte completions;
bool calm;                 /* faults are over: whatever can be done is done before more time passes */
byte calm_beats;

#define can_ask(p) (up && health[p] == WELL)
#define lives(p) (health[p] == WELL || health[p] == CUT)
#define fit(p) (silent[p] < LOST)
#if IDS > 4
#define lost_id(p) (unchanged[p * IDS + 1] >= TAKEN_FOR_DEAD || unchanged[p * IDS + 2] >= TAKEN_FOR_DEAD || \
  unchanged[p * IDS + 3] >= TAKEN_FOR_DEAD || unchanged[p * IDS + 4] >= TAKEN_FOR_DEAD)
#elif IDS > 3
#define lost_id(p) (unchanged[p * IDS + 1] >= TAKEN_FOR_DEAD || unchanged[p * IDS + 2] >= TAKEN_FOR_DEAD || \
  unchanged[p * IDS + 3] >= TAKEN_FOR_DEAD)
#else
#define lost_id(p) (unchanged[p * IDS + 1] >= TAKEN_FOR_DEAD || unchanged[p * IDS + 2] >= TAKEN_FOR_DEAD)
#endif
#ifdef NO_RESCUE
#define rescues(p) false
#else
#define rescues(p) lost_id(p)
#endif
#ifdef NO_LOST_CLAIMS
#define has_lost_claim(p) false
#else
#define has_lost_claim(p) (holds[p] == NOTHING && state == RUNNING && owner == id[p])
#endif
#define claims(p) (holds[p] == NOTHING && state == PENDING && fit(p) && recorded[id[p]])
#define busy(p) (holds[p] != NOTHING || claims(p) || has_lost_claim(p) || rescues(p) || health[p] == DEAD)
#define ended (state == COMPLETED || state == DISCARDED)

#ifdef NO_FIT
#define may_start(p) true
#else
#define may_start(p) fit(p)
#endif

#ifdef FENCE_BY_ATTEMPT
#define fence(r, a, o) (state == RUNNING && attempt == a && owner == o)
#elif defined(NO_FENCE)
#define fence(r, a, o) (state == RUNNING)
#else
#define fence(r, a, o) (state == RUNNING && run_no == r)
#endif

inline register(p) {
  id[p] = next_id;
  next_id++;
  recorded[id[p]] = true;
  outage_only[id[p]] = true;
  silent[p] = 0;
  beaten[p] = true;
  late[p] = true;
  changed[id[p]] = true;
  changed[IDS + id[p]] = true;
}

/* Nothing is remembered that nothing asks for: the fewer states there are to look at. */
inline drop(p) {
  holds[p] = NOTHING; outcome[p] = 0; my_run[p] = 0; my_attempt[p] = 0; my_owner[p] = 0; was_out[p] = false
}

inline end_run() {
  owner = 0; mark_run = 0; mark_owner = 0; began_run = 0
}

/* One statement that ends a run. */
inline settle(o, r, a, w) {
  if
  :: fence(r, a, w) ->
     assert(run_no == r);  /* property: the fence refuses what is not the job's run any more */
     if
     :: o == FINE -> state = COMPLETED; completions++; assert(completions == 1)
     :: o == FAIL && attempt >= ATTEMPTS -> state = DISCARDED
     :: o == FAIL && attempt < ATTEMPTS -> state = PENDING
     :: o == RELEASE -> state = PENDING; attempt--
     fi;
     end_run()
  :: else
  fi
}

/* One statement that puts back what a lost process had. */
inline rescue(target) {
  if
#ifdef NO_BEAT_CHECK
  :: recorded[target] ->
#else
  :: recorded[target] && !changed[me * IDS + target] ->
#endif
     assert(!outage_only[target]);  /* property: nobody rescues a process that renews whenever it can */
     if
     :: state == RUNNING && owner == target ->
        if
#ifdef CHARGE_ALL
        :: true ->
           assert(mark_run == run_no && mark_owner == target);  /* property: what was only claimed is free */
#else
        :: mark_run == run_no && mark_owner == target ->
#endif
           if
           :: attempt >= ATTEMPTS -> state = DISCARDED
           :: else -> state = PENDING
           fi
        :: else ->
           assert(began_run != run_no);  /* property: whoever dies with its process has spent the attempt */
           state = PENDING;
           attempt--
        fi;
        end_run()
     :: else
     fi;
     recorded[target] = false; outage_only[target] = false;
     changed[target] = false; changed[IDS + target] = false;
     unchanged[target] = 0; unchanged[IDS + target] = 0
  :: else
  fi;
  unchanged[me * IDS + target] = 0
}

/* The heartbeat of a process, and its look at the others'. */
inline beat() {
  if
  :: recorded[id[me]] ->
     silent[me] = 0;
     changed[id[me]] = true;
     changed[IDS + id[me]] = true
  :: else ->
     /* It was taken for dead: what it holds is no longer its own. Its handler may still run to its end. */
     if
     :: holds[me] != STARTED -> drop(me)
     :: else
     fi;
     register(me)
  fi;
  beaten[me] = true;
  if
#ifndef NO_NEW_WATCH
  :: late[me] ->
     i = 0;
     do
     :: i < IDS -> unchanged[me * IDS + i] = 0; changed[me * IDS + i] = false; i++
     :: else -> break
     od
#endif
  :: else ->
     i = 0;
     do
     :: i < IDS ->
        if
        :: changed[me * IDS + i] -> unchanged[me * IDS + i] = 0
        :: !changed[me * IDS + i] && unchanged[me * IDS + i] == LOST -> unchanged[me * IDS + i] = TAKEN_FOR_DEAD
        :: else
        fi;
        changed[me * IDS + i] = false;
        i++
     :: else -> break
     od
  fi;
  late[me] = false;
  i = 0
}

proctype process(byte me) {
  byte i;
  do
  /* The heartbeat, once in its time. */
  :: atomic { can_ask(me) && !beaten[me] && !ended -> beat() }

#ifndef NO_RESCUE
  /* The decision was the beat's; the statement may come much later. */
  :: atomic { can_ask(me) && unchanged[me * IDS + 1] >= TAKEN_FOR_DEAD -> rescue(1) }
  :: atomic { can_ask(me) && unchanged[me * IDS + 2] >= TAKEN_FOR_DEAD -> rescue(2) }
#if IDS > 3
  :: atomic { can_ask(me) && unchanged[me * IDS + 3] >= TAKEN_FOR_DEAD -> rescue(3) }
#endif
#if IDS > 4
  :: atomic { can_ask(me) && unchanged[me * IDS + 4] >= TAKEN_FOR_DEAD -> rescue(4) }
#endif
#endif

  /* A claim: with it goes the mark of the start, or the job is claimed ahead. Its answer may get lost. */
  :: atomic {
       can_ask(me) && claims(me) ->
       state = RUNNING; run_no++; attempt++; owner = id[me];
       my_run[me] = run_no; my_attempt[me] = attempt; my_owner[me] = id[me];
       was_out[me] = false;
       if
       :: mark_run = run_no; mark_owner = id[me]; holds[me] = MARKED
       :: holds[me] = CLAIMED
       :: !calm && lost_answers < LOST_ANSWERS -> lost_answers++; drop(me)
       fi
     }

#ifndef NO_LOST_CLAIMS
  /* What runs for this process without its knowledge goes back. */
  :: atomic {
       can_ask(me) && has_lost_claim(me) ->
       state = PENDING; attempt--; end_run()
     }
#endif

  /* The start of what was claimed ahead is put on record, and then the handler begins. */
  :: atomic {
       can_ask(me) && holds[me] == CLAIMED ->
#ifndef NO_MARK
       if
       :: my_run[me] == run_no -> mark_run = run_no; mark_owner = my_owner[me]
       :: else  /* a row of its own, for a run that nobody will ask about */
       fi;
#endif
       holds[me] = MARKED
     }
  :: atomic {
       lives(me) && holds[me] == MARKED && may_start(me) ->
       holds[me] = STARTED;
       /* property: a process that others may take for dead starts nothing */
       assert(run_no == my_run[me] && state == RUNNING);
       /* property: two runs at once only where the first one's process was frozen or cut off */
       assert(holds[1 - me] != STARTED || health[1 - me] == DEAD || was_out[1 - me]);
       began_run = my_run[me]
     }
  :: atomic { lives(me) && holds[me] == MARKED && !may_start(me) -> outcome[me] = RELEASE; holds[me] = ENDED }

  /* The handler ends, in one way or another. */
  :: atomic {
       lives(me) && holds[me] == STARTED ->
       if
       :: outcome[me] = FINE
       :: outcome[me] = FAIL
       :: !calm && releases < RELEASES -> releases++; outcome[me] = RELEASE
       fi;
       holds[me] = ENDED
     }

  /* The end is written. Sent again when the answer is lost; the first one may arrive later still. */
  :: atomic {
       can_ask(me) && holds[me] == ENDED ->
       if
       :: !calm && LATE > 0 && !late_used ->
          late_used = true; late_sent = true;
          late_outcome = outcome[me]; late_run = my_run[me]; late_owner = my_owner[me];
          late_attempt = my_attempt[me]
       :: true
       fi;
       settle(outcome[me], my_run[me], my_attempt[me], my_owner[me]);
       drop(me)
     }

  /* It dies, and is started again. */
  :: atomic {
       health[me] != DEAD && deaths < DEATHS && !ended && !calm ->
       deaths++; health[me] = DEAD; outage_only[id[me]] = false; drop(me); silent[me] = 0; beaten[me] = false; late[me] = false
     }
  :: atomic { up && health[me] == DEAD && next_id < IDS -> health[me] = WELL; register(me) }

  /* It is frozen, or cut off, for as long as it takes. */
  :: atomic {
       health[me] == WELL && outs < OUTS && !ended && !calm ->
       outs++; was_out[me] = true; outage_only[id[me]] = false;
       if
       :: health[me] = FROZEN
       :: health[me] = CUT
       fi
     }
  :: atomic { health[me] == FROZEN || health[me] == CUT -> health[me] = WELL }

  :: ended -> break
  od
}

/* A heartbeat's time passes: everyone who is well has beaten. */
active proctype time() {
  byte p, i;
  do
  :: atomic {
       !ended && (!calm || !(busy(0) || busy(1) || late_sent)) &&
       (!can_ask(0) || beaten[0]) && (!can_ask(1) || beaten[1]) ->
       p = 0;
       do
       :: p < P ->
          late[p] = health[p] != DEAD && (late[p] || !beaten[p]);
          silent[p] = (health[p] == DEAD -> 0 : (silent[p] < LOST -> silent[p] + 1 : LOST));
          beaten[p] = false;
          i = 0;
          do
          :: i < IDS ->
             if
             :: recorded[i] && i != id[p] && health[p] != DEAD && unchanged[p * IDS + i] < LOST ->
                unchanged[p * IDS + i]++
             :: else
             fi;
             i++
          :: else -> break
          od;
          i = 0;
          p++
       :: else -> break
       od;
       p = 0;
       if
       :: calm ->
          calm_beats++;
          assert(calm_beats <= 2 * LOST + 2)  /* property: from whatever state, once faults are over, the job ends */
       :: else
       fi
     }
  :: atomic {
       !calm && !ended ->
       calm = true; up = true;
       if
       :: health[0] != DEAD -> health[0] = WELL
       :: else
       fi;
       if
       :: health[1] != DEAD -> health[1] = WELL
       :: else
       fi
     }
  :: ended -> break
  od
}

/* The database: away for all once in a while; and a statement that arrives late. */
active proctype database() {
end:
  do
  :: atomic { late_sent && up -> settle(late_outcome, late_run, late_attempt, late_owner);
       late_sent = false; late_outcome = 0; late_run = 0; late_attempt = 0; late_owner = 0 }
  :: atomic { up && outages < OUTAGES && !ended && !calm -> outages++; up = false }
  :: atomic { !up -> up = true }
  od
}

init {
  atomic {
    register(0);
    register(1);
    run process(0);
    run process(1)
  }
}
