import { ByteCommand } from '../../../src/connections/redis/link';

describe('a command of bytes', () => {
  it('has a reject function that does not reference it, which would keep its texts until a full collection', async () => {
    const command = new ByteCommand('get', ['name']);
    expect(String(command.reject)).toBe('function () { [native code] }');
    command.resolve(Buffer.from('value'));
    expect(String(await command.promise)).toBe('value');
  });
});
