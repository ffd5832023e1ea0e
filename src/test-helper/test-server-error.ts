/** See api.ts. */
export class TestServerError extends Error {
  override readonly name = "TestServerError";
  readonly fix: string | undefined;

  constructor(message: string, fix?: string) {
    super(fix === undefined ? message : `${message}\nfix: ${fix}`);
    this.fix = fix;
  }
}
