type Library = typeof import("./library.ts");

let library: Promise<Library> | undefined;

/** Loads the library with the first message. Each `import()` would resolve its specifier again, three times per message. */
export const loadLibrary = (): Promise<Library> => (library ??= import("./library.ts"));
