// Runs text as a classic script, which a module cannot do: in sloppy mode, with `this` as the global scope, like its
// top-level `var` and functions. Only an internal module can do this; the service-worker runner gets this one as a
// binding and removes it before the script runs.
import unsafe from "internal:unsafe-eval";

export default () => (source: string, name: string) => void unsafe.eval(source, name);
