/** The script that updates pages, in a real browser. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, startBrowser, type View } from '../../support/browser';
import * as fc from '../../support/properties';

const source = readFileSync(join(__dirname, '../../../src/dashboard/assets/morph.js'), 'utf8');

let browser: Browser;
let view: View;

beforeAll(async () => {
  browser = await startBrowser();
  view = await browser.open('about:blank');
  await view.page.evaluate(`${source}; globalThis.morph = morph`);
});

afterAll(() => browser.close());

/** Morphs the content of the body into `after`, and returns the resulting markup. */
const morphed = (before: string, after: string, meanwhile = '') =>
  view.page.evaluate(
    `(() => {
      const of = (markup) => { const root = document.createElement('div'); root.innerHTML = markup; return root; };
      const root = of(${JSON.stringify(before)});
      document.body.replaceChildren(root);
      ${meanwhile}
      morph(root, of(${JSON.stringify(after)}));
      return root.innerHTML;
    })()`,
  ) as Promise<string>;

const NAMES = ['p', 'ul', 'b', 'section', 'details'];

/** Nested markup: elements with and without keys, some keys repeated, with text between them. */
const { markup } = fc.letrec<{ markup: string; node: string }>((tie) => ({
  markup: fc.array(tie('node'), { maxLength: 6 }).map((nodes) => nodes.join('')),
  node: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom('one', 'two', ' ', '<!--note-->'),
    fc
      .tuple(
        fc.constantFrom(...NAMES),
        fc.constantFrom('', ' data-key="a"', ' data-key="b"', ' data-key="c"', ' id="d"'),
        fc.constantFrom('', ' class="x"', ' title="y"'),
        tie('markup'),
      )
      .map(([name, key, attribute, content]) => `<${name}${key}${attribute}>${content}</${name}>`),
  ),
}));

describe('an updated region', () => {
  it('becomes what was sent, whatever it was before', async () => {
    const pairs = fc.sample(fc.tuple(markup, markup), 400);

    const wrong = await view.page.evaluate(
      `(() => {
        const of = (markup) => { const root = document.createElement('div'); root.innerHTML = markup; return root; };
        return ${JSON.stringify(pairs)}.filter(([before, after]) => {
          const root = of(before);
          morph(root, of(after));
          return !root.isEqualNode(of(after));
        });
      })()`,
    );

    expect(wrong).toEqual([]);
  });

  it('keeps what the viewer has checked, typed and opened', async () => {
    const before = '<details><summary>a</summary></details><input type="checkbox"><input type="text" value="old">';
    const meanwhile = `
      root.querySelector('details').open = true;
      root.querySelector('[type=checkbox]').checked = true;
      root.querySelector('[type=text]').value = 'typed';`;

    const shown = await morphed(before, before.replace('>a<', '>b<').replace('old', 'new'), meanwhile);

    expect(shown).toContain('<details open=""><summary>b</summary>');
    expect(await view.page.locator('[type=checkbox]').isChecked()).toBe(true);
    expect(await view.page.locator('[type=text]').inputValue()).toBe('typed');
  });

  it('keeps what the script has written itself', async () => {
    const readout = (text: string, moment: string) => `<p class="readout"${moment} data-own="">${text}</p><b>x</b>`;
    const shown = readout('12:00: 3 completed', ' data-moment="12"');

    expect(await morphed(shown, readout('', ''))).toBe(shown);
  });

  it('keeps the nodes of reordered rows, and the selection in them', async () => {
    const row = (key: string, text: string) => `<tr data-key="${key}"><td>${text}</td></tr>`;
    const table = (...rows: readonly string[]) => `<table><tbody>${rows.join('')}</tbody></table>`;
    const before = table(row('a', '1'), row('b', '2'), row('c', '3'));

    await morphed(
      before,
      table(row('c', '4'), row('a', '1'), row('b', '5')),
      `globalThis.kept = [...root.querySelectorAll('tr')];
       getSelection().selectAllChildren(root.querySelector('[data-key=b] td'));`,
    );

    const seen = await view.page.evaluate(
      `({
        order: [...document.querySelectorAll('tr')].map((row) => kept.indexOf(row)),
        selected: getSelection().anchorNode?.parentElement.closest('tr').dataset.key,
        texts: document.querySelector('table').textContent,
      })`,
    );
    expect(seen).toEqual({ order: [2, 0, 1], selected: 'b', texts: '415' });
  });
});
