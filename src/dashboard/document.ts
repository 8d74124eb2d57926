/** The document around each page, with its style, script and icon, at addresses that change with their content. */
import { hash } from 'node:crypto';
import { assetText } from './asset-text';
import { html, type Html } from './html';
import type { Answer } from './http/answer';

/** @param head what only some pages have in their head */
export function htmlDocument(title: string, body: Html, head?: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} – Onqueue</title>
        <link rel="icon" href="${assetAddress('icon.svg')}" />
        <link rel="stylesheet" href="${assetAddress('style.css')}" />
        ${head}
      </head>
      ${body}
    </html> `;
}

/** A page without navigation: a question, or the sign-in form. */
export function barePage(title: string, content: Html): Html {
  return htmlDocument(
    title,
    html`<body class="bare">
      <header class="top">${BRAND}</header>
      <main id="main">
        <h1>${title}</h1>
        ${content}
      </main>
    </body>`,
  );
}

/** The type of each, and the files that are sent as one. */
const ASSETS = {
  'style.css': { type: 'text/css; charset=utf-8', files: ['frame.css', 'parts.css', 'pages.css'] },
  'script.js': { type: 'text/javascript; charset=utf-8', files: ['morph.js', 'script.js'] },
  'icon.svg': { type: 'image/svg+xml', files: ['icon.svg'] },
} as const;

type Asset = keyof typeof ASSETS;

const texts = new Map<Asset, string>();

/** `style.1a2b3c4d.css`: browsers may cache it for ever. */
export function assetAddress(asset: Asset): string {
  const [name, extension] = asset.split('.');
  return `${name}.${hash('sha256', textOf(asset)).slice(0, 8)}.${extension}`;
}

/** Undefined if there is no such asset. */
export function assetNamed(name: string): Answer | undefined {
  const asset = (Object.keys(ASSETS) as Asset[]).find((each) => name === assetAddress(each));
  if (asset === undefined) return undefined;
  const headers = { 'content-type': ASSETS[asset].type, 'cache-control': 'private, max-age=31536000, immutable' };
  return { status: 200, headers, body: textOf(asset) };
}

/** Removes comments and indentation. Each line of these files is either a comment or contains none. */
function compact(text: string): string {
  return text.replace(/^\s*(?:\/\*[^]*?\*\/|\/\/.*)$/gm, '').replace(/^\s+/gm, '');
}

function textOf(asset: Asset): string {
  const text = texts.get(asset) ?? ASSETS[asset].files.map(assetText).map(compact).join('');
  texts.set(asset, text);
  return text;
}

/** Leads to the first page. */
export const BRAND = html`<a class="brand" href="./"><img src="${assetAddress('icon.svg')}" alt="" width="22" height="22">Onqueue</a>`;
