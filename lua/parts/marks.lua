-- marks.lua: the marks of cancelled jobs that have not ended yet.
--
--   after texts.lua

-- Places (from 1, over all groups) of texts whose jobs were cancelled; in each group texts stand from `first` on. With
-- `reasons`, each place is followed by the reason, '' if none was given.
local function cancelled_among(cancelled, reasons, groups, first)
  local ids, places = {}, {}
  for _, group in ipairs(groups) do
    for i = first, #group do ids[#ids + 1] = id_of(group[i]) or '' end
  end
  if #ids == 0 then return places end
  for place, marked in ipairs(call('ZMSCORE', cancelled, unpack(ids))) do
    if marked then places[#places + 1] = place end
    if marked and reasons then
      local why = redis.pcall('HGET', reasons, ids[place])
      places[#places + 1] = type(why) == 'string' and why or ''
    end
  end
  return places
end

-- The job has ended or will run again: its mark is not meant for a later job with the same id.
local function unmark(cancelled, reasons, id)
  redis.pcall('ZREM', cancelled, id)
  redis.pcall('HDEL', reasons, id)
end
