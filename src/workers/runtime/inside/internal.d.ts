/** Built into workerd for its own modules; `name` is what stacks call the script. */
declare module "internal:unsafe-eval" {
  const unsafe: { eval(source: string, name: string): unknown };
  export default unsafe;
}
