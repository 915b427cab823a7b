import { handlerOf } from "../../../ports/typed_kind.ts";
import { zodMail } from "../kinds.ts";

export default handlerOf(zodMail, ({ orderId, language }) => `${orderId} in ${language}`);
