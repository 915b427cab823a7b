// By its full name, for a program that uses this has a configuration of its own, which knows no alias of ours.
export { Cron } from "npm:croner@10.0.1";
