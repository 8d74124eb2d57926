import { Handles } from '../../src/job/declare';
import { Job } from '../../src/job/job';
import { registry } from '../../src/job/registry';

@Job()
class Quiet {}

class HandlesQuiet {
  handle(_job: Quiet) {}
}

const declare = (job: unknown, handler: unknown) => () => Handles(job as never)(handler as never);

describe('@Handles()', () => {
  it('makes a class the handler of a job, but not of its subclasses', () => {
    @Job()
    class Louder extends Quiet {}
    declare(Quiet, HandlesQuiet)();
    expect(registry().handlerOf(Quiet)).toBe(HandlesQuiet);
    expect(registry().handlerOf(Louder)).toBeUndefined();
  });

  it('refuses a second handler for the same job', () => {
    class Other extends HandlesQuiet {}
    declare(Quiet, HandlesQuiet)();
    expect(declare(Quiet, Other)).toThrow(expect.objectContaining({ code: 'E_INVALID_HANDLER' }));
    expect(declare(Quiet, Other)).toThrow(
      '@Handles on Other (test/job/handles.test.ts): Quiet already has the handler HandlesQuiet (test/job/handles.test.ts).',
    );
  });

  it('refuses a job whose file is still being loaded', () => {
    expect(declare(undefined, HandlesQuiet)).toThrow('Two files import each other');
  });

  it('refuses a class that is not a job, and a job that has a handle() of its own', () => {
    @Job()
    class HandlesItself extends Job {
      handle() {}
    }
    expect(declare(class NoJob {}, HandlesQuiet)).toThrow('NoJob has no @Job(). Add it above class NoJob.');
    expect(declare(HandlesItself, HandlesQuiet)).toThrow('HandlesItself has a handle() of its own');
  });

  it('refuses a class without a handle() method', () => {
    class InField {
      handle = () => {};
    }
    expect(declare(Quiet, InField)).toThrow('it has no method handle()');
  });
});
