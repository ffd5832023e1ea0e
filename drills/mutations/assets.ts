import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/workers/assets/site/resolve.ts",
    from: 'if (target === undefined) return rule && { kind: "status", status: 404 };',
    to: "if (target === undefined) return undefined;",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/site/resolve.ts",
    from: 'if ("redirect" in target || canonical !== pathname)',
    to: 'if ("redirect" in target)',
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/site/resolve.ts",
    from: 'const search = to.search === "" ? request.search : to.search;',
    to: "const search = to.search;",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/site/html-handling.ts",
    from: "if (targetFile === undefined || find(redirect) !== undefined) return false;",
    to: "if (targetFile === undefined) return false;",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/site/html-handling.ts",
    from: "return contentOf(servedFile) === contentOf(targetFile);",
    to: "return true;",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/site/html-handling.ts",
    from: "if (file !== undefined) return { file, status: 404 };",
    to: "if (file !== undefined) return { file, status: 200 };",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/site/routing.ts",
    from: "compatibilityDate >= NAVIGATION_DATE",
    to: "compatibilityDate > NAVIGATION_DATE",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/site/routing.ts",
    from: 'return path.replace(/[/\\\\]+/g, "/") + (end < 0 ? "" : filledTarget.slice(end));',
    to: 'return path + (end < 0 ? "" : filledTarget.slice(end));',
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/protocol/http/range.ts",
    from: 'start >= size ? "unsatisfiable" : {',
    to: "{",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/protocol/http/range.ts",
    from: "Math.max(0, size - Number(last))",
    to: "size - Number(last)",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/protocol/http/range.ts",
    from: 'listedTag.trim().replace(/^W\\//, "") === etag',
    to: "listedTag.trim() === etag",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/site/respond.ts",
    from: "const before = replacedNames.has(name) ? fields.get(name) : undefined;",
    to: "const before = fields.get(name);",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/store/tokens.ts",
    from: "if (claims.use !== tokenUse || !(Number(claims.exp) > nowSeconds())) return undefined;",
    to: "if (!(Number(claims.exp) > nowSeconds())) return undefined;",
    test: "src/workers/assets/store/assets.test.ts",
  },
  {
    file: "src/workers/assets/store/tokens.ts",
    from: "if (!isSigned) return undefined;",
    to: "",
    test: "src/workers/assets/store/assets.test.ts",
  },
  {
    file: "src/workers/assets/store/manifest.ts",
    from: 'segment === "" || segment === "." || segment === ".."',
    to: 'segment === ""',
    test: "src/workers/assets/store/assets.test.ts",
  },
  {
    file: "src/workers/assets/store/manifest.ts",
    from: "if ((sizes.get(hash) ?? size) !== size)",
    to: "if (size < 0)",
    test: "src/workers/assets/store/assets.test.ts",
  },
  {
    file: "src/workers/assets/base-path.ts",
    from: 'if (path === basePath.slice(0, -1)) return "/";',
    to: "",
    test: "src/workers/assets/site/site.test.ts",
  },
  {
    file: "src/workers/assets/site/resolve.ts",
    from: "if (pathWithoutBase(basePath, decodePath(url.pathname)) === undefined) return undefined;",
    to: "",
    test: "src/workers/assets/site/site.test.ts",
  },
];
