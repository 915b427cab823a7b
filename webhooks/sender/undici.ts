// By its full name, for a program that uses this has a configuration of its own, which knows no alias of ours.
export { Client, type Dispatcher } from "npm:undici@8.13.1";
