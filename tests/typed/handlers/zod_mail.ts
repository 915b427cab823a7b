import { handlerOf } from "../../../ports/mod.ts";
import { zodMail } from "../kinds.ts";

export default handlerOf(zodMail, ({ orderId, language }) => `${orderId} in ${language}`);
