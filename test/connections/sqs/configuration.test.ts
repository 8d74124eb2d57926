import { registry } from '../../../src/job/registry';
import { checkConfiguration } from '../../../src/application/configuration/check-configuration';
import '../../../src/connections/built-in';

const problems = (config: object): readonly string[] =>
  checkConfiguration(
    { connections: { main: { driver: 'sqs', ...config } } },
    { drivers: ['sqs'], registry: registry() },
  ).mistakes.map(({ path, problem }) => `${path}: ${problem}`);

it('the documented configuration of SQS is accepted', () => {
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b', sessionToken: 'c' };
  const address = 'https://sqs.eu-west-1.amazonaws.com/123456789012';
  expect(
    problems({ region: 'eu-west-1', endpoint: address, prefix: address, suffix: '-staging', credentials, options: {} }),
  ).toEqual([]);
  expect(problems({ credentials: async () => credentials, group: () => 'a', deduplicate: () => 'b' })).toEqual([]);
});

it.each([
  [{ prefix: 'sqs.eu-west-1.amazonaws.com' }, 'connections.main.prefix: expected an address like https://'],
  [{ credentials: { key: 'a', secret: 'sesame' } }, 'credentials: expected { accessKeyId, secretAccessKey }'],
  [{ group: 'orders' }, "group: expected a function, got 'orders'"],
  [{ zone: 'eu' }, 'connections.main.zone: unknown key'],
])('a mistake in the configuration of SQS is named: %p', (config, expected) => {
  expect(problems(config)).toEqual([expect.stringContaining(expected)]);
  expect(problems(config).join('')).not.toContain('sesame');
});
