-- sift.lua: of some failed jobs, read those that contain all of the given texts.
--
--   parts    budget
--
--   KEYS[1] failed_jobs   hash    id -> meta line, payload
--   ARGV[1] offset        number  see parts/base.lua
--   ARGV[2] connection    string  a text in the meta line; so are the next two; '': any
--   ARGV[3] name          string
--   ARGV[4] error         string
--   ARGV[5] batch         string  a text behind it
--   ARGV[6…] ids          string
--
--   returns  {'sifted', looked, place, entry, …}
--            looked: how many of the ids were looked at; place: that of the id, from 1. One that is gone is left out
--   keeps    writes nothing
--   cost     100 entries or 1 MiB of them, and one in any case

local failed_jobs = KEYS[1]
local connection, name, error, batch = ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local ids, budget, sifted = { unpack(ARGV, 6) }, new_budget(), { 'sifted', 0 }
for place, id in ipairs(ids) do
  local entry = call('HGET', failed_jobs, id)
  if entry then
    if not charge(budget, entry) then break end
    local line_end = find(entry, '\n', 1, true) or 0
    local function is_in_line(text)
      return text == '' or (find(entry, text, 1, true) or line_end) < line_end
    end
    if is_in_line(connection) and is_in_line(name) and is_in_line(error)
      and find(entry, batch, line_end + 1, true) then
      sifted[#sifted + 1], sifted[#sifted + 2] = place, entry
    end
  end
  sifted[2] = place
end
return sifted
