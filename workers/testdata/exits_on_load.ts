Deno.exit(7);
