import { join } from 'node:path';
import { errorText } from '../../src/cli/error-text';

function missing(name: string, from: string): Error {
  const message = `Cannot find module '${name}'\nRequire stack:\n- ${from}`;
  return Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND', requireStack: [from] });
}

const ours = join(__dirname, '../../src/composition.ts');

describe('the text of an error', () => {
  it('is a sentence where a package is missing that Onqueue cannot do without', () => {
    expect(errorText(missing('tsyringe', ours))).toBe(
      'onqueue needs the package tsyringe, which is not installed. Run: npm install tsyringe',
    );
  });

  it.each([
    ['a file of the project looked for it', missing('tsyringe', '/srv/app/jobs.js')],
    ['it is a file', missing('./scope', ours)],
  ])('is the stack of what nobody foresaw: %s', (_case, error) => {
    expect(errorText(error)).toBe(error.stack);
  });
});
