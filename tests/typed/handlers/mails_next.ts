import { typedJobs } from "../../../ports/typed_jobs.ts";
import { handlerOf } from "../../../ports/typed_kind.ts";
import { mailsNext, zodMail } from "../kinds.ts";

export default handlerOf(mailsNext, async ({ orderId }, ctx) => {
  const jobs = typedJobs(ctx.jobs, [zodMail]);
  // @ts-expect-error: the order's id is a text
  await jobs.enqueue(zodMail, { orderId: 7 }).catch(() => {});
  return await jobs.enqueue(zodMail, { orderId });
});
