import { handlerOf } from "@millrace/millrace/ports";
import { orderMail } from "./order_mail.ts";

/** Runs in a worker thread. A real one would talk to a mail server, with `ctx.signal`. */
export default handlerOf(orderMail, ({ id, customer }) => `Dear ${customer}, thank you for order ${id}`);
