import {
  CapabilityError,
  ConnectionClosedError,
  DuplicatePayloadError,
  QueueUnavailableError,
} from '../../src/connections/errors';
import '../../src/connections/built-in';
import { Project, requireBuild } from '../support/project';
import { freePort } from '../support/redis-server';
import { meantToPass } from '../support/meant-to-pass';

const unavailable = {
  connection: 'main',
  store: 'Redis',
  address: 'redis://127.0.0.1:6379',
  consequence: 'SendEmail was not queued',
};

describe('an error of a connection', () => {
  it('names the store, the time without an answer, what was not done, and where the address came from', () => {
    const error = new QueueUnavailableError({
      ...unavailable,
      deadline: 60,
      origin: 'REDIS_URL came from the environment',
    });
    expect(error.message).toBe(
      'Redis at redis://127.0.0.1:6379 did not answer in 60 s; SendEmail was not queued. Is it running? ' +
        'REDIS_URL came from the environment.',
    );
    expect(error.code).toBe('E_QUEUE_UNAVAILABLE');
  });

  it('says that a store refused at once and keeps the cause', () => {
    const cause = new Error('ECONNREFUSED');
    const error = new QueueUnavailableError(unavailable, { cause });
    expect(error.message).toContain('cannot be reached; SendEmail was not queued.');
    expect(error.cause).toMatchObject({ message: cause.message });
  });

  it('reports a payload that already waits without showing it', () => {
    const error = new DuplicatePayloadError('main', 'mail', '{"secret":"é"}');
    expect(error.facts).toEqual({ connection: 'main', queue: 'mail', bytes: 15 });
    expect(error.message).toContain("Queue 'mail' of connection 'main' already holds this very payload (15 bytes)");
    expect(error.message).not.toContain('secret');
  });

  it('names the call that came after the close', () => {
    const error = new ConnectionClosedError('main', 'push');
    expect(error.message).toContain("push came after connection 'main' was closed; nothing was done.");
    expect(error.facts).toEqual({ connection: 'main', operation: 'push' });
  });

  it('does not recommend the driver that lacks the capability', () => {
    expect(new CapabilityError('main', 'redis', 'peek').facts.drivers).toEqual(['database', 'memory']);
  });

  it.each([
    ['moments', ['redis', 'database', 'memory']],
    ['exactCounts', ['redis', 'database', 'beanstalkd', 'memory']],
    ['clear', ['redis', 'database', 'beanstalkd', 'sqs', 'memory']],
    ['transactions', ['database']],
  ] as const)('recommends the drivers that keep jobs and have the capability %s', (capability, drivers) => {
    expect(new CapabilityError('main', 'mine', capability).facts.drivers).toEqual(drivers);
  });
});

describe('a program that catches nothing', () => {
  it('ends on a store that is away with one line each for the message, the code and the cause', async () => {
    requireBuild();
    const project = new Project();
    project.linkPackage();
    project.write(
      'main.js',
      `const { Queue } = require('onqueue');
       Queue.configure({ connections: { main: { driver: 'redis', url: process.env.AT, deadline: '${meantToPass('2s')}' } }, default: 'main' });
       Queue.connection().pushRaw('{"job":"probe","attempts":0}');`,
    );
    const port = await freePort();
    const { code, stderr } = await project.run(['main.js'], { AT: `redis://127.0.0.1:${port}/0` });
    project.remove();
    const refused = `connect ECONNREFUSED 127.0.0.1:${port}`;

    expect(code).toBe(1);
    const told = stderr.slice(stderr.indexOf('QueueUnavailableError')).replace(/\n +at .*/g, '');
    expect(told.split('\n').slice(0, 5)).toEqual([
      `QueueUnavailableError: Redis at redis://127.0.0.1:${port}/0 did not answer in 2 s (${refused}); ` +
        'the payload was not queued. Is it running?',
      "  code: 'E_QUEUE_UNAVAILABLE',",
      `  [cause]: [Error: ${refused}]`,
      '}',
      '',
    ]);
  });
});
