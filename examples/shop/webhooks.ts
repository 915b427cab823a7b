import { Webhooks } from "@millrace/millrace/webhooks";

/** Tells other people's servers. Here they may be on this machine, for the example's own receiver. */
export const webhooks: Webhooks = new Webhooks({
  secretKey: Deno.env.get("MILLRACE_SECRET_KEY") ?? "example:" + btoa("0123456789abcdef0123456789abcdef"),
  egress: { allowHttp: true, allowAddresses: ["127.0.0.1"] },
});
