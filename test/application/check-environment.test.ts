import { QueueManager } from '../../src/application/queue-manager';

it.each([
  [{ default: 'main', connections: { main: { driver: 'memory' } } }, 'The configuration is the second argument: new'],
  [undefined, 'expected an object of connectors by driver: new QueueManager({ connectors: builtInConnectors'],
  [{ connectors: null }, 'expected an object of connectors by driver'],
])('a manager refuses a first argument without connectors and says what to pass: %p', (environment, said) => {
  expect(() => new QueueManager(environment as never)).toThrow(
    expect.objectContaining({ code: 'E_CONFIGURATION', message: expect.stringContaining(`connectors: missing`) }),
  );
  expect(() => new QueueManager(environment as never)).toThrow(said);
});
