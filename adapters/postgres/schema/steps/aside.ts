/** Where those who declare a kind find its jobs that lie aside. */
export const CREATE_ASIDE: string = `
drop index {schema}.job_undeclared;
create index job_aside on {schema}.job (queue, kind, priority, scheduled_at, id) where undeclared`;

/** Undoes it. Who lies aside is due, so that the program of before finds it. */
export const DROP_ASIDE: string = `
drop index {schema}.job_aside;
create index job_undeclared on {schema}.job (kind) where undeclared;
update {schema}.job set scheduled_at = clock_timestamp() where undeclared and state in ('pending', 'retryable')`;
