-- ties.lua: reads the unique key that stands in the text of a job.
--
--   after texts.lua, unique.lua
--
--   `src/payload/ties.ts` says where, and reads it for all that costs a running worker: what it pushes and settles.

local TIES, TIES_WINDOW, KEY_LENGTH = ',"ties":"u', 512, 22

-- The key, and what a client would say of the job, as in unique.lua. Nil: it has none.
local function tie_of(text)
  if not find(text, TIES, -TIES_WINDOW - WINDOW, true) then return nil end
  local body_end = read_counters(text)
  if not body_end then return nil end
  local tail = sub(text, math.max(body_end - TIES_WINDOW + 1, 1), body_end)
  local id_start, _, id = find(tail, ',"id":"([^"\\]+)"$')
  if not id_start then return nil end
  local before = string.gsub(sub(tail, 1, id_start - 1), ',"fenceAtRetry":%d+$', '')
  local _, _, ties = find(before, ',"ties":"([^"]*)"$')
  local _, _, ending, key, most = find((ties or '') .. ' ', '^u([es])([%w_-]+):?(%d*) ')
  if not key or #key ~= KEY_LENGTH then return nil end
  return { key = key, tie = (most == '' and '0' or most) .. ' ' .. id, until_start = ending == 's' }
end

-- Frees the keys of these jobs, as far as they hold them; with `until_start`, only those that are held until then.
local function leave_all(unique, texts, until_start)
  local keys, ties = {}, {}
  for _, text in ipairs(texts) do
    local found = tie_of(text)
    if found and (found.until_start or not until_start) then
      keys[#keys + 1], ties[#ties + 1] = found.key, found.tie
    end
  end
  leave(unique, keys, ties)
end
