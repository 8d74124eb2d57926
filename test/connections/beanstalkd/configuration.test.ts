import { registry } from '../../../src/job/registry';
import { checkConfiguration } from '../../../src/application/configuration/check-configuration';
import '../../../src/connections/built-in';

const mistakesIn = (config: object): readonly string[] => {
  const connections = { main: { driver: 'beanstalkd', ...config } };
  const { mistakes } = checkConfiguration({ connections }, { drivers: ['beanstalkd'], registry: registry() });
  return mistakes.map(({ path, problem }) => `${path}: ${problem}`);
};

it.each([
  {},
  { url: 'beanstalk://127.0.0.1:11300', queue: 'a', retryAfter: '1m', deadline: 20, maxPayload: '64kb' },
  { url: 'beanstalkd://queue-1.example.org', prefix: 'shop.', priority: 1 },
  { url: 'beanstalk://[::1]:11300/', priority: 1023 },
])('accepts %j', (config) => {
  expect(mistakesIn(config)).toEqual([]);
});

it.each([
  [{ url: 'localhost:11300' }, 'connections.main.url: expected an address like beanstalk://127.0.0.1:11300'],
  [
    { url: 'beanstalk://host:99999' },
    "connections.main.url: '99999' in 'beanstalk://host:99999' is no port; give a number from 1 to 65535",
  ],
  [{ url: 'beanstalk://host/tube' }, 'connections.main.url: expected a host and a port alone'],
  [{ priority: 0 }, 'connections.main.priority: expected a whole number from 1 to 1023, got 0'],
  [{ priority: 1024 }, 'connections.main.priority: expected a whole number from 1 to 1023, got 1024'],
  [{ tube: 'mail' }, 'connections.main.tube: unknown key'],
])('refuses %j', (config, said) => {
  expect(mistakesIn(config)).toEqual([expect.stringContaining(said)]);
});

it('refuses a password, which the server does not support, without showing it', () => {
  const [said] = mistakesIn({ url: 'beanstalk://user:secret@host:11300' });

  expect(said).toContain('neither users nor passwords');
  expect(said).not.toContain('secret');
});
