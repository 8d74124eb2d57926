import { checkQueueName } from '../../src/job/option-kinds';
import { parseQueues } from '../../src/worker/queues';

const check = (name: unknown): void => checkQueueName(name, 'queue on SendEmail');

describe('a queue name', () => {
  it.each(['default', 'mail:high', 'Ünïcode', 'a.b-c_d', 'failed', 'notify', 'my-delayed', 'a:lock'])(
    'may be %p',
    (name) => {
      expect(() => check(name)).not.toThrow();
    },
  );

  it.each([
    '',
    'two words',
    'tab\t',
    'line\n',
    'nul\0',
    'half\uD83D',
    'a{b}',
    '{mail',
    'mail}',
    'mail:delayed',
    'mail:reserved',
    'mail:notify',
    'mail:failed',
    'mail:failed:jobs',
    'mail:queues',
    'mail:control',
    'mail:cancelled',
    'mail:client:7',
    'mail:lock:x',
    ':unique',
    ':records:worker',
    5,
    undefined,
    null,
    ['a'],
  ])('may not be %p', (name) => {
    expect(() => check(name)).toThrow(expect.objectContaining({ code: 'E_INVALID_QUEUE_NAME' }));
  });

  it('with a comma is refused by a job without suggesting an array', () => {
    expect(() => check('high,default')).toThrow(
      "queue on SendEmail: 'high,default' is not a valid queue name: a job goes to one queue; a list of queues is the worker's.",
    );
  });

  it("with a comma in a worker's list is refused with the advice to use separate entries", () => {
    expect(() => parseQueues(['high,default'], false)).toThrow(
      "the queue of a worker: 'high,default' is not a valid queue name: give its queues as separate entries.",
    );
  });

  it('with a reserved ending is refused with that ending', () => {
    expect(() => check('mail:failed')).toThrow("':failed' is used by Onqueue's own keys");
  });
});
