// By its full name, because a program that uses this has its own configuration, which doesn't know our aliases.
export { default } from "npm:fast-check@4.11.0";
