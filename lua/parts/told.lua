-- told.lua: which of the jobs that are handed out are to end: they were cancelled, or their batch was.
--
--   after marks.lua, ties.lua

-- Adds the places of those whose batch was, each with '' behind it: nobody says why.
local function add_those_of_batches(places, cancelled_batches, groups, first)
  local ids, own, place = {}, {}, 0
  for _, group in ipairs(groups) do
    for i = first, #group do
      place = place + 1
      local id = batch_in(group[i])
      if id then ids[#ids + 1], own[#own + 1] = id, place end
    end
  end
  if #ids == 0 then return end
  for at, marked in ipairs(call('ZMSCORE', cancelled_batches, unpack(ids))) do
    if marked then places[#places + 1], places[#places + 2] = own[at], '' end
  end
end

-- A job with a reason of its own stands behind, and counts.
local function tell_cancelled(news, cancelled, reasons, cancelled_batches, jobs)
  local places = {}
  pcall(add_those_of_batches, places, cancelled_batches, jobs, 2)
  local told, marked = pcall(cancelled_among, cancelled, reasons, jobs, 2)
  for _, word in ipairs(told and marked or {}) do places[#places + 1] = word end
  if #places > 0 then news[#news + 1], news[#news + 2] = 'cancelled', places end
end
