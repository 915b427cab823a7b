/** What must compile, and what must not: checked by `deno check`, never run. */
import { defineKind, handlerOf, type Jobs, type Kind, typedJobs } from "../../mod.ts";
import type { ArgsInput } from "../../ports/args_schema.ts";
import { arkMail, remind, sweep, valibotMail, zodMail } from "./kinds.ts";

type Equal<One, Other> = (<T>() => T extends One ? 1 : 2) extends (<T>() => T extends Other ? 1 : 2) ? true
  : false;
function same<_ extends true>(): void {}

export function checks(port: Jobs): void {
  const jobs = typedJobs(port, [zodMail, valibotMail, arkMail, sweep, remind]);

  jobs.enqueue("mail.zod", { orderId: "1" });
  jobs.enqueue(zodMail, { orderId: "1", language: "de" }, { priority: 1, uniqueByArgs: true });
  jobs.enqueue("mail.arktype", { orderId: "1" });
  jobs.enqueue("sweep");
  jobs.enqueue(sweep, { olderThanDays: 3 });
  jobs.enqueueMany([{ kind: "sweep", args: {} }, { kind: valibotMail, args: { orderId: "1" }, priority: 4 }]);

  jobs.offer(zodMail, { orderId: "1" }).then(({ id, added }) => [id, added]);
  jobs.offer("sweep");

  // @ts-expect-error a wrong name
  jobs.enqueue("mail.zodd", { orderId: "1" });
  // @ts-expect-error no args where some are needed
  jobs.enqueue("mail.zod");
  // @ts-expect-error a wrong shape, by name
  jobs.enqueue("mail.zod", { orderId: 1 });
  // @ts-expect-error a wrong shape, by kind
  jobs.enqueue(valibotMail, { order: "1" });
  // @ts-expect-error a value that the schema does not list
  jobs.enqueue(arkMail, { orderId: "1", language: "fr" });
  // @ts-expect-error the stored form is wanted, not what the handler gets
  jobs.enqueue("remind", { at: new Date(), user: "ada" });
  // @ts-expect-error a wrong shape of an offer
  jobs.offer("mail.zod", { orderId: 1 });
  // @ts-expect-error another kind's args
  jobs.enqueueMany([{ kind: "sweep", args: { orderId: 1 } }]);
  // @ts-expect-error a misspelt option
  jobs.enqueue("sweep", {}, { prioritty: 1 });
  // @ts-expect-error a kind that is not in the list
  typedJobs(port, [sweep]).enqueue(zodMail, { orderId: "1" });

  handlerOf(remind, ({ at, user }, ctx) => {
    same<Equal<typeof at, Date>>();
    same<Equal<typeof user, string>>();
    return ctx.attempt;
  });
  // @ts-expect-error a member that the args do not have
  handlerOf(zodMail, ({ orderNumber }) => orderNumber);
  // @ts-expect-error a result that is not JSON
  handlerOf(zodMail, () => new Map());

  same<Equal<ArgsInput<typeof remind["args"]>, { at: string; user: string }>>();
  const asKind: Kind = zodMail;
  defineKind({ ...zodMail, handler: (args) => args.language });
  // @ts-expect-error a handler that reads what is not there
  defineKind({ ...zodMail, handler: (args) => args.langauge });
  void asKind;
}
