import { CREATE_APPLY_RULES_FUNCTION, CREATE_OFFER_MANY } from "./key_rules.ts";

/** The members that make a key, as they were taken: one that is missing counted as null. */
const MEMBERS = "select coalesce(jsonb_agg($ARGS #> string_to_array(path, '.') order by place), '[]')";

/** And as they are now: args that lack one have no key. */
const WHOLE_MEMBERS = `select case
                when coalesce(bool_and($ARGS #> string_to_array(path, '.') is not null), true)
                then coalesce(jsonb_agg($ARGS #> string_to_array(path, '.') order by place), '[]')
              end`;

const replaced = (create: string): string => create.replace("create function", "create or replace function");

const whole = (create: string, args: string): string =>
  replaced(create).replace(MEMBERS.replaceAll("$ARGS", args), WHOLE_MEMBERS.replaceAll("$ARGS", args));

/**
 * Args that lack a member of their kind's key have no key, and nobody keeps them out: the rule is then one that their program
 * does not know. Before, all of them had one key, and all but one were dropped.
 */
export const KEYS_ARE_WHOLE: string = `${whole(CREATE_OFFER_MANY, "args")};
${
  whole(CREATE_APPLY_RULES_FUNCTION, "new.args").replace(
    "  if new.unique_key <> new_key then",
    "  if new_key is null then\n    return null;\n  end if;\n  if new.unique_key <> new_key then",
  )
}`;

/** Undoes it. */
export const KEYS_MAY_LACK: string = `${replaced(CREATE_OFFER_MANY)};
${replaced(CREATE_APPLY_RULES_FUNCTION)}`;
