export { createBookmarkGenerator as createD1BookmarkGenerator } from "./bookmarks.ts";
export { createD1Databases, type D1Databases } from "./databases.ts";
export { d1Errors } from "./errors.ts";
export { d1Limits, type D1Limits } from "./limits.ts";
export { createD1Service, type D1Service } from "./service.ts";
export { createD1DatabaseList, type D1Database, type D1DatabaseList } from "./list.ts";
export { d1Migrations } from "./migrations.ts";
export { d1DirectoryId } from "./home.ts";
export { createD1Transfers, type D1Transfers, type Transfer as D1Transfer } from "./transfers/transfers.ts";
