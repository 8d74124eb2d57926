import { Job } from '../../src/job/job';
import { testApplication } from '../support/application';

const WRONG = ['a'.repeat(256), 'Send\nMail', 'Send\u001b[2JMail', 'Send\u202eliaM'];

it.each(WRONG)('a job cannot be declared under a name that workers refuse: %j', (name) => {
  expect(() => Job({ name })(class {})).toThrow(expect.objectContaining({ code: 'E_INVALID_JOB_OPTION' }));
  expect(() => Job({ aliases: [name] })(class {})).toThrow('A name has 1 to 255 characters, none of them a control');
});

it.each(WRONG)('a job cannot be pushed by a name that workers refuse: %j', async (name) => {
  const { manager } = testApplication();

  await expect(manager.connection().push(name, {})).rejects.toThrow(
    expect.objectContaining({ code: 'E_INVALID_JOB_NAME' }),
  );
  await manager.close();
});

it('a job name may have 255 characters of any script', () => {
  expect(() => Job({ name: '漢'.repeat(255) })(class {})).not.toThrow();
});
