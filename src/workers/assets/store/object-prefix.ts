/** Key prefix of assets in the object store. The rest of the key is the SHA-256 of the content and a unique suffix. */
export const ASSET_OBJECT_PREFIX = "assets/";
