/**
 * Who need not be woken. A notification inside every business transaction costs a third to a half of their rate, so a
 * queue is told of only when somebody listens who does not look anyway.
 */

/**
 * SQL for why nobody needs to be woken for a queue: `awake`, somebody claims from it without a pause; `nobody`, no process
 * works it; `paused`. Null when somebody does. A process that begins to work a queue, or resumes it, looks for itself.
 *
 * A mark holds for a second: one that runs for longer is from a time when the clock was ahead.
 */
export function silence(queue: string): string {
  return `case
        when exists (
          select from {schema}.awake
          where awake.queue = ${queue}
            and awake.until between clock_timestamp() and clock_timestamp() + interval '1 minute'
        ) then 'awake'
        when not exists (select from {schema}.listening where listening.queue = ${queue}) then 'nobody'
        when exists (
          select from {schema}.queue as known where known.name = ${queue} and known.paused_at is not null
        ) then 'paused'
      end`;
}
