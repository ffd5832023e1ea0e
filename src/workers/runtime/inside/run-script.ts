// Runs text as a classic script, which a module cannot do: in sloppy mode, with `this` as the global scope, which also
// receives the script's top-level `var` and function declarations. Only an internal module can do this; the
// service-worker runner gets this function as a binding and removes it before the script runs.
import unsafe from "internal:unsafe-eval";

export default () => (source: string, name: string) => void unsafe.eval(source, name);
