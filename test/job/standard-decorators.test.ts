import { transformSync } from '@swc/core';
import * as handles from '../../src/job/declare';
import * as listens from '../../src/job/declare';
import * as job from '../../src/job/job';
import { registry } from '../../src/job/registry';

/** Compiles and runs a module like a project without `experimentalDecorators`. */
function run<Name extends string>(source: string): Record<Name, new (...parameters: unknown[]) => object> {
  const { code } = transformSync(`import { Job, Handles, Listens } from 'onqueue';\n${source}`, {
    swcrc: false,
    module: { type: 'commonjs' },
    jsc: {
      target: 'es2022',
      keepClassNames: true,
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: false, decoratorVersion: '2022-03', useDefineForClassFields: true },
    },
  });
  const exported = {} as Record<Name, new (...parameters: unknown[]) => object>;
  // oxlint-disable-next-line typescript/no-implied-eval -- the only way to run the other kind of decorators here
  new Function('exports', 'require', code)(exported, () => ({ ...job, ...handles, ...listens }));
  return exported;
}

describe('under standard decorators', () => {
  it('a class becomes a job', () => {
    const { Standard } = run<'Standard'>(`
      @Job({ queue: 'mail', tries: 3 })
      export class Standard extends Job {
        constructor(readonly to) { super(); }
        handle() {}
      }`);
    expect(registry().find('Standard')).toMatchObject({ target: Standard, options: { queue: 'mail', tries: 3 } });
    expect({ ...new Standard('ada') }).toEqual({ to: 'ada' });
  });

  it('a class becomes a handler', () => {
    const { StandardData, StandardHandler } = run<'StandardData' | 'StandardHandler'>(`
      @Job() export class StandardData {}
      @Handles(StandardData) export class StandardHandler { handle(job) {} }`);
    expect(registry().handlerOf(StandardData)).toBe(StandardHandler);
  });

  it('a class becomes a listener', () => {
    const { StandardListener } = run<'StandardListener'>(`
      class StandardEvent {}
      @Listens(StandardEvent, { queue: 'mail' }) export class StandardListener { handle(event) {} }`);
    expect(registry().jobOf(StandardListener)).toMatchObject({ name: 'StandardListener', options: { queue: 'mail' } });
  });

  it('a field named id is data', () => {
    const { StandardId } = run<'StandardId'>(`@Job() export class StandardId extends Job { id = 5; }`);
    expect({ ...new StandardId() }).toEqual({ id: 5 });
  });

  it('an invalid declaration is refused', () => {
    expect(() => run(`@Job({ attempts: 3 }) class StandardWrong extends Job {}`)).toThrow('did you mean `tries`?');
    expect(() => run(`@Job() class StandardPrivate extends Job { #secret = 1; }`)).toThrow(
      'has private #fields (#secret)',
    );
  });

  it('a parameter of handle() is refused, because it cannot be decorated', () => {
    expect(() => run(`@Job() class StandardParameter extends Job { handle(mailer) {} }`)).toThrow(
      'StandardParameter.handle, parameter 0 (mailer)',
    );
  });
});
