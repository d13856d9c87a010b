// Without this script the page has everything, too: it finds rows by their name, copies commands and says which tables go on.
(() => {
  const all = (selector, node = document) => [...node.querySelectorAll(selector)]

  // A link may lead into a part that is folded.
  const unfold = () => {
    for (let at = document.getElementById(location.hash.slice(1)); at; at = at.parentElement) {
      if (at.tagName === 'DETAILS') at.open = true
    }
  }
  addEventListener('hashchange', unfold)
  unfold()

  const wide = () => all('.scroll').forEach(box => box.classList.toggle('wide', box.scrollWidth > box.clientWidth + 1))
  addEventListener('resize', wide)
  document.addEventListener('toggle', wide, true)
  wide()

  if (navigator.clipboard) {
    all('.command').forEach(command => {
      const button = document.createElement('button')
      button.type = 'button'
      button.textContent = 'Copy'
      button.addEventListener('click', () => navigator.clipboard.writeText(command.textContent.trim())
        .then(() => { button.textContent = 'Copied' }))
      command.after(button)
    })
  }

  const form = document.querySelector('.find')
  const rows = all('tr[data-host]').map(row => (
    {row, name: row.dataset.host.toLowerCase(), to: all('a', row).map(link => link.getAttribute('href').slice(1))}))
  if (!form || !rows.length) return
  const own = new Set(rows.flatMap(host => host.to))
  const parts = all('[id]').filter(part => own.has(part.id))
  const tiles = new Map(all('.tiles li[data-host]').map(tile => [tile.dataset.host.toLowerCase(), tile]))
  const find = () => {
    const text = form.elements.host.value.trim().toLowerCase()
    const found = rows.filter(host => host.name.includes(text))
    const names = new Set(found.map(host => host.name))
    const shown = new Set(found.flatMap(host => host.to))
    rows.forEach(host => { host.row.hidden = !names.has(host.name) })
    tiles.forEach((tile, name) => { tile.hidden = !names.has(name) })
    parts.forEach(part => {
      part.hidden = !shown.has(part.id) && !all('[id]', part).some(below => shown.has(below.id))
    })
    all('details.hostlist').forEach(list => { list.open = Boolean(text) })
    if (text) all('#findings > details').forEach(list => { list.open = true })
    form.querySelector('output').textContent = text ? `${found.length} of ${rows.length} ${form.dataset.what}` : ''
    wide()
  }
  form.addEventListener('input', find)
  form.addEventListener('submit', event => {
    event.preventDefault()
    const first = rows.find(host => !host.row.hidden)
    if (first) location.hash = first.row.id
  })
  form.hidden = false
})()
