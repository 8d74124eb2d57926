import { declaredIn, relativeFile } from '../../src/base/class';

describe('the file of a declaration', () => {
  const decorate = (): string | undefined => declaredIn(decorate);

  it('is that of the nearest caller', () => {
    expect(decorate()).toBe(__filename);
  });

  it("is found past reflect-metadata's own frames", () => {
    let file: string | undefined;
    class Decorated {}
    Reflect.decorate([() => void (file = decorate())], Decorated);
    expect(file).toBe(__filename);
  });

  it('is found if stack traces are limited, and leaves the limit unchanged', () => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    const file = decorate();
    const kept = Error.stackTraceLimit;
    Error.stackTraceLimit = limit;
    expect([file, kept]).toEqual([__filename, 0]);
  });

  it('is shown relative to the working directory if it lies inside', () => {
    expect(relativeFile(`${process.cwd()}/src/jobs.ts`)).toBe('src/jobs.ts');
    expect(relativeFile('/elsewhere/jobs.ts')).toBe('/elsewhere/jobs.ts');
  });
});
