/**
 * Makes one element like another, but keeps what the viewer has done to it: focus, selection, ticked boxes, opened details. Nodes
 * are matched by their ids and `data-key`.
 */
// oxlint-disable-next-line no-unused-vars -- it is sent with script.js as one
function morph(from, to) {
  if (from.isEqualNode(to)) return;
  if (from.nodeType === 3 && to.nodeType === 3) {
    from.data = to.data;
    return;
  }
  if (from.nodeType !== 1 || from.nodeName !== to.nodeName) {
    from.replaceWith(to);
    return;
  }
  // What the viewer has typed and ticked stays, and what the script itself writes.
  if ('own' in from.dataset && 'own' in to.dataset) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(from.nodeName) && from.type !== 'hidden') return;
  for (const { name } of [...from.attributes])
    if (!to.hasAttribute(name) && name !== 'open') from.removeAttribute(name);
  for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  const keyOf = (node) => node.id || node.dataset?.key;
  const keyed = new Map([...from.childNodes].filter(keyOf).map((node) => [keyOf(node), node]));
  let at = from.firstChild;
  for (const next of [...to.childNodes]) {
    const key = keyOf(next);
    const same = key ? keyed.get(key) : at && !keyOf(at) ? at : undefined;
    keyed.delete(key);
    if (!same) {
      from.insertBefore(next, at);
      continue;
    }
    if (same === at) at = at.nextSibling;
    else from.insertBefore(same, at);
    morph(same, next);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}
