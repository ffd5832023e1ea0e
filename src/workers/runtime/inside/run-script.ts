// Runs text as a classic script, which no module can do for it: sloppy, `this` is the global scope, and so are its top-level `var` and
// functions. Only an internal module has the means; the service-worker runner gets this one as a binding and removes it before the script runs.
import unsafe from "internal:unsafe-eval";

export default () => (source: string, name: string) => void unsafe.eval(source, name);
