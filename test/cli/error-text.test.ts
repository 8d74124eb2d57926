import { join } from 'node:path';
import { errorText } from '../../src/cli/errors';
import { configFileFailed } from '../../src/application/errors';

function missing(name: string, from: string): Error {
  const message = `Cannot find module '${name}'\nRequire stack:\n- ${from}`;
  return Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND', requireStack: [from] });
}

const ours = join(__dirname, '../../src/composition.ts');

describe('the text of an error', () => {
  it('is a sentence if a package is missing that Onqueue needs', () => {
    expect(errorText(missing('tsyringe', ours))).toBe(
      'onqueue needs the package tsyringe, which is not installed. Run: npm install tsyringe',
    );
  });

  it.each([
    ['a file of the project required it', missing('tsyringe', '/srv/app/jobs.js')],
    ['a file is missing, not a package', missing('./scope', ours)],
  ])('is the stack of an unexpected error: %s', (_case, error) => {
    expect(errorText(error)).toBe(error.stack);
  });

  it('shows the place in a file of the project without the frames of its callers', () => {
    const cause = new Error('vault');
    cause.stack = [
      'Error: vault',
      '    at default (/srv/onqueue.config.js:3:9)',
      '    at run (/srv/node_modules/commander/lib/command.js:568:17)',
      `    at load (${ours}:1:1)`,
    ].join('\n');
    expect(errorText(configFileFailed('/srv/onqueue.config.js', 'vault', cause))).toBe(
      '/srv/onqueue.config.js could not be loaded: vault (E_CONFIG_FILE)\n    at default (/srv/onqueue.config.js:3:9)',
    );
  });
});
