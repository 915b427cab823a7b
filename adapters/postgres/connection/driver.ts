// By its full name, for a program that uses this has a configuration of its own, which knows no alias of ours.
export { default } from "npm:postgres@3.4.9";
