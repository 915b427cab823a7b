await new Promise((resolve) => setTimeout(resolve, 500));

/** A handler whose module takes its time to load. */
export default (): string => "loaded";
