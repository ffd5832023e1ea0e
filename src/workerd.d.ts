/** The workerd package ships no types. It is CommonJS, so its default export is nested. */
declare module "workerd" {
  const workerd: { default: string; compatibilityDate: string; version: string };
  export default workerd;
}
