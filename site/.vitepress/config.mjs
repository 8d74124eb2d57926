/** The site made of `docs`. Its navigation is the list of pages in `docs/index.md`, so a page is entered once. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const root = fileURLToPath(new URL('../..', import.meta.url));
const docs = join(root, 'docs');
const start = readFileSync(join(docs, 'index.md'), 'utf8');
const addressOf = (page) => `/${page.replace(/\.md$/, '')}`;

const groups = start
  .split(/^## /m)
  .slice(1)
  .map((group) => ({
    text: group.split('\n', 1)[0],
    items: [...group.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm)].map(([, text, page]) => ({
      text,
      link: addressOf(page),
    })),
  }))
  .filter(({ items }) => items.length > 0);
const decisions = readdirSync(join(docs, 'decisions')).map((file) => ({
  text: /^# (.*)$/m.exec(readFileSync(join(docs, 'decisions', file), 'utf8'))?.[1] ?? basename(file),
  link: addressOf(`decisions/${file}`),
}));

/** The anchors of GitHub: the same links work in both places. `test/docs/links.test.ts` holds them. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

/** What is beside `docs` in the repository is not on the site: its name remains, without a link. */
function withoutOutsideLinks(markdown) {
  markdown.core.ruler.push('outside-links', ({ tokens }) => {
    for (const { children } of tokens) {
      let isOutside = false;
      for (const token of children ?? []) {
        if (token.type === 'link_open') isOutside = /^\.\.\/(?!\w+\.md)/.test(token.attrGet('href'));
        if (!isOutside || !token.type.startsWith('link_')) continue;
        token.tag = 'span';
        token.attrs = null;
      }
    }
  });
}

/** Pages are outside of this folder, whose node_modules has Vue. */
const vueForPages = {
  name: 'vue-for-pages',
  enforce: 'pre',
  resolveId(source, importer, options) {
    if (!importer?.startsWith(docs) || !/^vue(?:\/|$)/.test(source)) return undefined;
    return this.resolve(source, fileURLToPath(import.meta.url), options);
  },
};

export default defineConfig({
  title: 'Onqueue',
  description:
    'A job framework for TypeScript: jobs are classes, dispatching is one line, and accepted work is not lost.',
  lang: 'en',
  srcDir: docs,
  outDir: join(root, 'build/site'),
  cacheDir: join(root, 'build/site-cache'),
  cleanUrls: true,
  vite: { plugins: [vueForPages] },
  markdown: { anchor: { slugify }, config: withoutOutsideLinks },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: groups.map(({ text, items }) => ({ text, link: items[0].link })),
    sidebar: [
      ...groups.map((group) => ({ ...group, collapsed: false })),
      { text: 'Decisions', collapsed: true, items: decisions },
    ],
  },
});
